#include "launch/sweep/sweep_files.h"
#include "io/input/instance_names.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

#include "io/input/job_input.h"
#include "models/job/limits.h"
#include "text/csv.h"

namespace trnplan::io {

namespace {

/// Whole numbers of a list, or the fallback if the key is absent.
std::vector<int> numbers(MapReader& map, const char* key, int fallback, int most) {
  const Node* list = map.raw(key);
  if (list == nullptr || list->is_null()) return {fallback};
  std::vector<int> all;
  std::set<int> seen, repeated;
  const std::vector<Node> one = {*list};
  for (const Node& item : list->kind == Node::Kind::sequence ? list->items : one) {
    const std::optional<int> number = whole_of(item);
    if (!number || *number < 1 || *number > most) {
      map.fault(
          key,
          "\"" + printable(item.scalar, 40) + "\" is not a whole number from 1 to " + std::to_string(most),
          "write for example [4, 8, 16]");
      return {fallback};
    }
    if (!seen.insert(*number).second && repeated.insert(*number).second) {
      map.fault(key, std::to_string(*number) + " is listed twice", "list each value once");
    }
    all.push_back(*number);
  }
  if (all.empty()) map.fault(key, "lists nothing", "leave the key out, or list values");
  return all.empty() ? std::vector<int>{fallback} : all;
}

std::vector<std::string> instances(MapReader& map, const std::string& fallback, const Catalog& catalog) {
  const Node* list = map.raw("instances");
  if (list == nullptr || list->is_null()) return {fallback};
  const std::vector<std::string> known = catalog.instances();
  std::set<std::string> repeated;
  std::vector<std::string> all;
  for (const Node& item : list->items) {
    if (std::find(known.begin(), known.end(), item.scalar) == known.end()) {
      map.fault("instances", "unknown instance type " + in_quotes(printable(item.scalar, 40)),
                io::instance_fix(item.scalar, known));
    } else if (std::find(all.begin(), all.end(), item.scalar) != all.end()) {
      if (!repeated.insert(item.scalar).second) continue;
      map.fault("instances", item.scalar + " is listed twice", "list each type once");
    } else {
      all.push_back(item.scalar);
    }
  }
  if (list->items.empty()) map.fault("instances", "lists nothing", "leave the key out, or list types");
  return all;
}

/// First value of a list of the grid, in the form of an option; "" if there is none.
std::string first_of(const Node& root, const char* key) {
  const Node* list = root.find(key);
  if (list == nullptr) return {};
  return list->kind == Node::Kind::sequence && !list->items.empty() ? list->items.front().scalar
                                                                    : list->scalar;
}

/// Job of a file next to the grid, or of a model alone, with training that the grid may state.
JobReading read_grid_job(const std::filesystem::path& path, const std::string& name, const Node& root,
                         const Catalog& catalog, const Files& files) {
  const bool model = !files.has(path) && !files.has(path / "config.json") && known_model(name, catalog);
  const std::string argument = model ? name : path.string();
  const JobSource source = job_source(argument, catalog, files);
  JobOptions options;
  options.own_nodes = root.find("nodes") != nullptr;
  options.own_instances = root.find("instances") != nullptr;
  if (source == JobSource::catalogue_model || source == JobSource::hf_config) {
    options.sequence = first_of(root, "sequence");
    options.global_batch = first_of(root, "global_batch");
  }
  return read_job_input(argument, options, catalog, files).reading;
}

/// Inputs of the points: the job's file, or the assumptions about a model.
std::string job_text(const std::filesystem::path& path, const JobReading& reading, const Files& files) {
  if (files.has(path)) return files.text(path);
  std::string text;
  for (const std::string& note : reading.notes) text += note;
  return text;
}

}  // namespace

SweepGrid read_sweep(const std::filesystem::path& path, const Catalog& catalog, const Files& files) {
  SweepGrid grid;
  grid.text = files.text(path);
  const Node root = parse_document(grid.text, path.string());
  std::vector<Diagnostic> faults;
  MapReader map(root, "", faults);
  const std::string job = map.required_text("job");
  if (job.empty()) throw InputError(std::move(faults));
  grid.job = read_grid_job(path.parent_path() / job, job, root, catalog, files);
  grid.text += '\0' + job_text(path.parent_path() / job, grid.job, files);
  const models::Job& j = grid.job.job;
  grid.tokens = map.count("tokens", j.training.tokens);
  const auto types = instances(map, j.cluster.instance.name, catalog);
  const auto nodes = numbers(map, "nodes", j.cluster.nodes, topology::kMostNodes);
  const auto sequences = numbers(map, "sequence", j.training.sequence, models::run_limits.sequence);
  const auto batches = numbers(map, "global_batch", j.training.global_batch, models::run_limits.global_batch);
  map.finish();
  if (faults.empty() && !(grid.tokens > 0)) {
    map.fault("tokens", "neither this nor training.tokens of the job is stated",
              "write for example tokens: 2T");
  }
  if (types.size() * nodes.size() * sequences.size() * batches.size() > kMostSweepPoints) {
    map.fault("nodes", fmt::format("more than {} points", kMostSweepPoints), "split the grid");
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  for (const std::string& type : types) {
    for (const int n : nodes) {
      for (const int s : sequences) {
        for (const int b : batches) grid.points.push_back({type, n, s, b});
      }
    }
  }
  return grid;
}

// ---- the table

namespace {

std::string field(const std::optional<double>& number) {
  return number ? fmt::format("{}", *number) : "";
}

struct Close {
  void operator()(sqlite3* db) const { sqlite3_close(db); }
  void operator()(sqlite3_stmt* s) const { sqlite3_finalize(s); }
  void operator()(unsigned char* bytes) const { sqlite3_free(bytes); }
};

void require(bool ok, sqlite3* db) {
  if (!ok) throw std::runtime_error(std::string("SQLite: ") + sqlite3_errmsg(db));
}

void execute(sqlite3* db, const std::string& sql) {
  require(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK, db);
}

constexpr const char* kColumns[][2] = {{"point", "INTEGER"},
                                       {"instance", "TEXT"},
                                       {"nodes", "INTEGER"},
                                       {"sequence", "INTEGER"},
                                       {"global_batch", "INTEGER"},
                                       {"stack", "TEXT"},
                                       {"strategy", "TEXT"},
                                       {"grammar", "TEXT"},
                                       {"step_seconds", "REAL"},
                                       {"step_seconds_low", "REAL"},
                                       {"step_seconds_high", "REAL"},
                                       {"tokens_per_second", "REAL"},
                                       {"mfu", "REAL"},
                                       {"peak_bytes", "REAL"},
                                       {"fits", "REAL"},
                                       {"compiles", "REAL"},
                                       {"works", "REAL"},
                                       {"goodput", "REAL"},
                                       {"days", "REAL"},
                                       {"usd", "REAL"},
                                       {"budget_probability", "REAL"},
                                       {"checkpoint_interval_seconds", "REAL"},
                                       {"why", "TEXT"}};

}  // namespace

std::string sweep_csv_header() {
  std::string line;
  for (const auto& [name, type] : kColumns) line += (line.empty() ? "" : ",") + std::string(name);
  return line + "\n";
}

std::string sweep_csv_row(const SweepRow& r) {
  std::string line = fmt::format("{},{},{},{},{},{},{},{}", r.index, csv_field(r.point.instance),
                                 r.point.nodes, r.point.sequence, r.point.global_batch, csv_field(r.stack),
                                 csv_field(r.strategy), csv_field(r.grammar));
  for (const std::optional<double>& number :
       {r.step_seconds, r.low, r.high, r.tokens_per_second, r.mfu, r.peak_bytes, r.fits, r.compiles, r.works,
        r.goodput, r.days, r.usd, r.budget_probability, r.checkpoint_interval_seconds})
    line += "," + field(number);
  return line + "," + csv_field(r.why) + "\n";
}

std::string sweep_sqlite(const std::string& csv, const std::string& name) {
  const auto records = split_csv(csv);
  sqlite3* opened = nullptr;
  const bool ok = sqlite3_open(":memory:", &opened) == SQLITE_OK;
  const std::unique_ptr<sqlite3, Close> db(opened);
  require(ok, opened);
  std::string columns, marks;
  for (const auto& [column, type] : kColumns) {
    columns += fmt::format("{}{} {}", columns.empty() ? "" : ", ", column, type);
    marks += marks.empty() ? "?" : ", ?";
  }
  execute(opened, "CREATE TABLE sweep (" + columns + "); BEGIN");
  sqlite3_stmt* prepared = nullptr;
  require(sqlite3_prepare_v2(opened, ("INSERT INTO sweep VALUES (" + marks + ")").c_str(), -1, &prepared,
                             nullptr) == SQLITE_OK,
          opened);
  const std::unique_ptr<sqlite3_stmt, Close> insert(prepared);
  for (std::size_t i = 1; i < records.size(); ++i) {
    const auto& fields = records[i].fields;
    if (fields.size() != std::size(kColumns)) {
      throw InputError(
          {{name, records[i].line, 1}, "", "a row has a different number of columns", "run the sweep again"});
    }
    for (std::size_t c = 0; c < fields.size(); ++c) {
      const std::string& text = fields[c].text;  // the column's type converts a text that is a number
      const int column = static_cast<int>(c) + 1;
      if (text.empty())
        sqlite3_bind_null(prepared, column);
      else
        sqlite3_bind_text(prepared, column, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
    }
    require(sqlite3_step(prepared) == SQLITE_DONE, opened);
    sqlite3_reset(prepared);
  }
  execute(opened, "COMMIT");
  sqlite3_int64 size = 0;
  const std::unique_ptr<unsigned char, Close> bytes(sqlite3_serialize(opened, "main", &size, 0));
  require(bytes != nullptr, opened);
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(size)};
}

}  // namespace trnplan::io
