// A small export of Nsight Systems, made with SQLite itself: tables and columns as NVIDIA's "SQLite Export Schema
// Reference" lists them, numbers invented.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace trnplan::logs {

/// Names, times and payloads of four steps of 1 s on one GPU, starting at 1 s: each 400 ms of products, 100 ms of
/// attention, and an all-reduce of 1 MiB by 8 ranks of 10, 12, 11 and 30 ms, of which half is behind a product.
inline const std::string kNsysTables =
    "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE META_DATA_EXPORT (name TEXT NOT NULL, value TEXT);"
    "CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER "
    "NOT "
    "NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT "
    "NULL, "
    "shortName INTEGER NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid "
    "INTEGER, "
    "correlationId INTEGER, nameId INTEGER NOT NULL);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, globalTid "
    "INTEGER, "
    "text TEXT, textId INTEGER, jsonText TEXT);";

inline const std::string kNsysRows =
    "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0');"
    "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H100 80GB HBM3');"
    "INSERT INTO StringIds VALUES (1, 'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n'), "
    "(2, 'void flash::flash_fwd_kernel<Flash_fwd_kernel_traits>(flash::Flash_fwd_params)'), "
    "(3, 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)'), "
    "(4, 'ncclAllReduce'), (5, 'forward_step');"
    // A communicator of 8 ranks; forward_step twice in a step.
    "INSERT INTO NVTX_EVENTS VALUES (1000, 2000, 59, 16777217, 'ncclCommInitRank', NULL, "
    "'{\"NCCL communicator ID\":18446744073709551615,\"No. of ranks\":8,\"Rank\":0}');"
    "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 3) "
    "INSERT INTO NVTX_EVENTS SELECT (i + 1) * 1000000000, (i + 1) * 1000000000 + 900000000, 59, 16777217, "
    "'iteration ' || (i + 7), NULL, NULL FROM s;"
    "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 7) "
    "INSERT INTO NVTX_EVENTS SELECT 1000000000 + i * 500000000, 1450000000 + i * 500000000, 59, 16777217, "
    "NULL, 5, "
    "NULL FROM s;"
    "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 3) "
    "INSERT INTO NVTX_EVENTS SELECT (i + 1) * 1000000000 + 1000, (i + 1) * 1000000000 + 9000, 59, 16777217, "
    "NULL, 4, "
    "'{\"NCCL communicator ID\":18446744073709551615,\"Message size [bytes]\":1048576}' FROM s;"
    "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 3) "
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT (i + 1) * 1000000000 + 5000, (i + 1) * 1000000000 + "
    "6000, "
    "16777217, 100 + i, 4 FROM s;"
    "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 3) "
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT (i + 1) * 1000000000 + 100000000, (i + 1) * 1000000000 + "
    "500000000, "
    "0, 7, 10 + i, 16777216, 1, 1 FROM s;"
    "WITH RECURSIVE s(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM s WHERE i < 3) "
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT (i + 1) * 1000000000 + 600000000, (i + 1) * 1000000000 + "
    "700000000, "
    "0, 7, 20 + i, 16777216, 2, 2 FROM s;"
    "WITH RECURSIVE s(i, ms) AS (SELECT 0, 10 UNION ALL SELECT i + 1, CASE i WHEN 0 THEN 12 WHEN 1 THEN 11 "
    "ELSE 30 END "
    "FROM s WHERE i < 3) "
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT (i + 1) * 1000000000 + 500000000 - ms * 500000, "
    "(i + 1) * 1000000000 + 500000000 + ms * 500000, 0, 8, 100 + i, 16777216, 3, 3 FROM s;";

/// The bytes of a database that these statements make.
inline std::string sqlite_bytes(const std::string& statements) {
  sqlite3* db = nullptr;
  if (sqlite3_open(":memory:", &db) != SQLITE_OK) throw std::runtime_error("no memory for a database");
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> closed(db, sqlite3_close);
  if (sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw std::runtime_error(sqlite3_errmsg(db));
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, void (*)(void*)> bytes(sqlite3_serialize(db, "main", &size, 0),
                                                              sqlite3_free);
  return std::string(reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size));
}

inline std::string nsys_bytes(const std::string& more = "") {
  return sqlite_bytes(kNsysTables + kNsysRows + more);
}

}  // namespace trnplan::logs
