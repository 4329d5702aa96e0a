// A folder as written by plan --out.
#pragma once

#include "io/output/atomic_write.h"
#include "launch/folder/bundle.h"
#include "planner/check/judge.h"
#include "targets/registry.h"
#include "tests/folder.h"
#include "tests/models/setup.h"

namespace trnplan {

/// For a job on four nodes.
class PlannedFolder : public TestFolder {
 public:
  explicit PlannedFolder(const planner::Target& target = targets::standard(),
                         const char* strategy = "tp=8,recompute=CoreAttention",
                         const char* model = "llama3-8b") {
    const models::Job job = job_of(model, 4, 4096, 256);
    const auto judged = planner::judge(job, strategy_of(job, strategy), datasheet());
    io::write_files(path, launch::bundle(job, *judged.plan, target), false);
  }
};

}  // namespace trnplan
