#include "api/check_findings.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "api/explain.h"
#include "text/diagnostic.h"
#include "text/figures.h"

namespace trnplan::api {

using targets::Finding;
using targets::Severity;

namespace {

/// Source of a rule of strategies in NxD; for another training loop, the source common to all of them.
std::string source_of_rule(const std::string& rule, std::string_view loop) {
  if (!loop.empty()) return rule == "memory" ? source_of("check", rule) : "";
  const std::string source = source_of("strategy", rule);
  return source.empty() ? source_of("verdict", rule) : source;
}

bool says(const std::vector<Finding>& findings, std::string_view rule, bool notes_count) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.rule == rule && (notes_count || f.severity != Severity::note);
  });
}

}  // namespace

void note(std::vector<Finding>& findings, std::string rule, std::string message) {
  findings.push_back({.rule = std::move(rule), .severity = Severity::note, .message = std::move(message)});
}

std::vector<Finding> assumptions(const std::vector<Finding>& findings) {
  constexpr std::string_view kFlags = "flags";
  std::vector<Finding> all;
  std::size_t flags = 0;
  for (const Finding& f : findings) {
    if (f.severity != Severity::note || f.rule == "memory" || f.rule == "not-modelled" ||
        f.rule == "instance")
      continue;
    if (f.rule == kFlags)
      ++flags;
    else
      all.push_back(f);
  }
  if (flags > 0)
    note(all, std::string(kFlags),
         counted(flags, "note") + " on its flags: trnplan check --details shows them");
  return all;
}

std::string assumed_machine(const std::string& instance) {
  return instance + " is assumed; state another with --instance";
}

void add_violations(std::vector<Finding>& findings, const std::vector<planner::Violation>& broken,
                    const FileAtHand& file) {
  for (const planner::Violation& v : broken) {
    if (says(findings, v.rule, v.rule == "not-modelled")) continue;
    if (v.rule == "not-modelled") {
      note(findings, v.rule, v.message);
      continue;
    }
    const bool loose = v.rule == "memory" && !file.loose_memory.empty();
    planner::KeyPlace place = file.place_of(v.rule);
    findings.push_back({.rule = v.rule,
                        .severity = loose || v.doubtful ? Severity::warning : Severity::error,
                        .key = std::move(place.key),
                        .at = std::move(place.at),
                        .message = loose ? file.loose_memory + ": " + v.message : v.message,
                        .fix = v.fix,
                        .source = source_of_rule(v.rule, file.loop)});
  }
}

bool add_doubts(std::vector<Finding>& findings, const planner::Judgement& judgement, const FileAtHand& file) {
  if (!judgement.plan || judgement.refused()) return false;
  const std::size_t before = findings.size();
  const auto doubt = [&](const char* rule, const char* what, const std::optional<double>& probability,
                         const char* fix) {
    if (!probability || *probability >= planner::kSureRun || says(findings, rule, false)) return;
    planner::KeyPlace place = file.place_of(rule);
    findings.push_back({.rule = rule,
                        .severity = Severity::warning,
                        .key = std::move(place.key),
                        .at = std::move(place.at),
                        .message = fmt::format("{}: only {:.0f} % likely", what, 100 * *probability),
                        .fix = fix,
                        .source = source_of_rule(rule, file.loop)});
  };
  doubt("memory", "it fits into memory", judgement.plan->fits, "recompute more, or raise TP or PP");
  doubt("graph", "its largest graph compiles", judgement.plan->compiles,
        "raise TP or PP, or take a smaller micro-batch");
  return findings.size() > before;
}

void add_memory(std::vector<Finding>& findings, const std::optional<models::Memory>& memory,
                const topology::Instance& instance, const FileAtHand& file) {
  if (!memory || !memory->fits()) return;
  planner::KeyPlace place = file.place_of("memory");
  findings.push_back({.rule = "memory",
                      .severity = Severity::note,
                      .key = std::move(place.key),
                      .at = std::move(place.at),
                      .message = "fits: " + planner::memory_message(*memory, instance.traits.accelerator),
                      .source = source_of_rule("memory", file.loop)});
}

void add_other_nodes(std::vector<Finding>& findings, const CheckRequest& request, int nodes,
                     const SourcePos& at, const std::string& key) {
  const int planned = request.planned_nodes;
  if (planned == 0 || request.nodes > 0 || nodes == planned) return;
  findings.push_back(
      {.rule = "instance",
       .severity = Severity::warning,
       .key = key,
       .at = at,
       .message = fmt::format("{} here, {} in the folder's plan.json", counted(nodes, "node"), planned),
       .fix = "restore the number, or plan again for this one"});
}

int nodes_of(int hosts, const topology::Instance& machine, const SourcePos& at, const std::string& key) {
  if (hosts < 1 || hosts / machine.hosts > topology::kMostNodes) {
    throw InputError({at, key,
                      fmt::format("{} is not a number of nodes from 1 to {}", hosts, topology::kMostNodes),
                      "an UltraCluster holds 30,000 chips; write fewer nodes"});
  }
  if (hosts % machine.hosts == 0) return hosts / machine.hosts;
  throw InputError(
      Diagnostic{at, key, fmt::format("{} hosts, and a {} is {}", hosts, machine.name, machine.hosts),
                 fmt::format("write a multiple of {}, or name another --instance", machine.hosts)});
}

bool trains_there(std::vector<Finding>& findings, const planner::Target& target,
                  const topology::Instance& machine) {
  if (target.trains_on(machine.traits)) return true;
  findings.push_back({.rule = "instance",
                      .severity = Severity::error,
                      .key = "--instance",
                      .message = fmt::format("{} does not train on {}", target.name(), machine.name),
                      .fix = "name a machine that it supports"});
  return false;
}

ResolvedJob resolved_run(std::vector<Finding>& findings, const CheckRequest& o, models::Job job) {
  Remarks remarks;
  ResolvedJob resolved = resolve(std::move(job), {{.job = o.file}, o.target, o.profile},
                                 {.one_strategy = true, .refuses = false}, remarks);
  for (const Remark& remark : remarks.all()) {
    if (const auto* text = std::get_if<std::string>(&remark)) {
      std::string said = *text, id = take_id(said);
      note(findings, id.empty() ? "profile" : std::move(id), std::move(said));
    }
  }
  return resolved;
}

}  // namespace trnplan::api
