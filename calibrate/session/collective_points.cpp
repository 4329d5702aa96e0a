#include "calibrate/session/collective_points.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace trnplan::calibrate {

using logs::MeasuredCollective;

namespace {

CollectiveReading take_points(const std::vector<MeasuredCollective>& points, const PointOptions& o,
                              const std::string& file, Remarks& remarks) {
  if (!o.op.empty() || o.ranks > 0 || o.nodes > 0) {
    remarks.add(file + ": each point says its own operation and ranks: --op, --ranks, --nodes do not apply");
  }
  CollectiveReading r;
  r.kind = "published points";
  r.points = points;
  r.rows = points.size();
  std::set<std::string> builds;
  for (const MeasuredCollective& p : r.points) builds.insert(p.build);
  const std::string known = fmt::format("{}", fmt::join(builds, ", "));
  if (o.build.empty() && builds.size() > 1) {
    throw InputError({{file, 0, 0},
                      "build",
                      "its points come from several builds, which differ in speed",
                      "choose one with --build: " + known});
  }
  if (!o.build.empty() && !builds.contains(o.build)) {
    throw InputError({{file, 0, 0},
                      "--build",
                      "no point is of build \"" + printable(o.build, 40) + "\"",
                      "choose one of: " + known});
  }
  std::erase_if(r.points,
                [&](const MeasuredCollective& p) { return !o.build.empty() && p.build != o.build; });
  for (const MeasuredCollective& p : r.points) r.marks.insert("build " + p.build);
  return r;
}

/// True if the command of a table contradicts the options.
bool overrules(const logs::NccomTable& table, const logs::NccomCommand& stated) {
  const bool op = !stated.op.empty() && stated.op != table.op;
  return op || (stated.ranks && stated.ranks != table.ranks) || (stated.nodes && stated.nodes != table.nodes);
}

std::string place(const SourcePos& at) {
  return at.line > 0 ? fmt::format("{}:{}", at.file, at.line) : at.file;
}

void mark_build(const logs::NccomTable& table, CollectiveReading& r) {
  if (!table.time_heading.empty()) {
    r.marks.insert(table.time_heading == "time(us)" ? "heading time(us)" : "heading time:...(us)");
  }
  if (table.printed_giga) r.marks.insert(*table.printed_giga == 1e9 ? "GB of 10^9" : "GB of 2^30");
}

CollectiveReading take_tables(const std::vector<logs::NccomTable>& tables, const PointOptions& o,
                              const std::string& file, Remarks& remarks) {
  if (!o.build.empty()) {
    remarks.add(file + ": --build chooses among the points of a CSV; this file does not state its build");
  }
  const logs::NccomCommand stated = stated_command(o);
  CollectiveReading r;
  for (const logs::NccomTable& table : tables) {
    for (const Diagnostic& warning : table.warnings) remarks.add(warning);
    r.rows += table.rows.size();
    mark_build(table, r);
    if (!table.command.empty() && overrules(table, stated)) {
      remarks.add(fmt::format("{}: its own command is used, not --op, --ranks, --nodes: {}", place(table.at),
                              printable(table.command, 200)));
    }
    const auto points = calibrate::points_of(table, std::filesystem::path(file).filename().string());
    if (!table.partners.empty()) {
      r.skipped.push_back(
          {table.at, "",
           table.partners + " changes who talks to whom, so its rows are not those of one group of all ranks",
           "give a table of nccom-test without that option"});
    } else if (table.op.empty() || !table.ranks) {
      r.skipped.push_back({table.at, "",
                           table.op.empty() ? "the operation of this table is not stated"
                                            : "the number of ranks of this table is not stated",
                           "give it with its command line, or state --op, --ranks and --nodes"});
    } else if (points.empty()) {
      r.skipped.push_back({table.at, "",
                           "no row of this table can be used: they failed or contradict themselves",
                           "run nccom-test again, and give its output unchanged"});
    }
    r.points.insert(r.points.end(), points.begin(), points.end());
  }
  r.kind = fmt::format("rows of {} nccom-test table{}", tables.size(), tables.size() == 1 ? "" : "s");
  return r;
}

}  // namespace

logs::NccomCommand stated_command(const PointOptions& o) {
  logs::NccomCommand command;
  command.op = logs::canonical_op(o.op);
  if (o.ranks > 0) command.ranks = o.ranks;
  if (o.nodes > 0) command.nodes = o.nodes;
  return command;
}

CollectiveReading take_file(const LogFile& file, const PointOptions& o, Remarks& remarks) {
  const logs::Detected& content = file.content;
  for (const Diagnostic& left_out : content.skipped) remarks.add(left_out);
  CollectiveReading r;
  if (!content.points.empty()) {
    r = take_points(content.points, o, file.path, remarks);
  } else if (!content.tables.empty()) {
    r = take_tables(content.tables, o, file.path, remarks);
  }
  r.name = std::filesystem::path(file.path).filename().string();
  return r;
}

void doubt_builds(const std::vector<CollectiveReading>& all, Remarks& remarks) {
  std::set<std::string> marks, headings, units, builds;
  bool csv = false, table = false;
  for (const CollectiveReading& r : all) {
    for (const std::string& m : r.marks) {
      (m.starts_with("heading") ? headings : m.starts_with("GB") ? units : builds).insert(m);
    }
    (r.kind == "published points" ? csv : table) |= !r.points.empty();
  }
  if (headings.size() < 2 && units.size() < 2 && builds.size() < 2 && !(csv && table)) return;
  marks.insert(headings.begin(), headings.end());
  marks.insert(units.begin(), units.end());
  marks.insert(builds.begin(), builds.end());
  remarks.add(
      fmt::format("the tables may come from different builds ({}): the launch differs by build, but the fit "
                  "has only one; if they do, fit them separately",
                  fmt::join(marks, ", ")));
}

std::vector<Diagnostic> causes_of(const std::vector<calibrate::LeftOut>& left_out) {
  std::vector<Diagnostic> all;
  std::map<std::string, std::pair<std::size_t, int>> known;  // reason -> index, count
  for (const calibrate::LeftOut& l : left_out) {
    const auto [it, fresh] = known.try_emplace(l.reason, all.size(), 0);
    ++it->second.second;
    if (fresh) all.push_back({l.point.at, "", l.reason, l.fix});
  }
  for (const auto& [reason, entry] : known) {
    const int more = entry.second - 1;
    if (more > 0) {
      all[entry.first].problem += fmt::format(" ({} more point{} likewise)", more, more == 1 ? "" : "s");
    }
  }
  return all;
}

}  // namespace trnplan::calibrate
