#include "logs/nccom/nccom_command.h"

#include <utility>

#include "logs/nccom/bounds.h"
#include "models/collective/collective_timing.h"
#include "text/log_lines.h"
#include "text/parse.h"

namespace trnplan::logs {

namespace {

/// Position of the last call of nccom-test: the word itself, perhaps with a path or in quotes.
std::size_t program_in(std::string_view line) {
  for (std::size_t at = line.rfind(kNccomTest); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : line.rfind(kNccomTest, at - 1)) {
    const std::size_t end = at + kNccomTest.size();
    const bool starts = at == 0 || blank(line[at - 1]) ||
                        std::string_view("/\"'(`").find(line[at - 1]) != std::string_view::npos;
    if (starts && end < line.size() && blank(line[end])) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view canonical_op(std::string_view name) {
  if (const auto op = models::collective_op(name)) return models::to_string(*op);
  static constexpr std::pair<std::string_view, std::string_view> kOps[] = {{"all_gatherv", "all_gather_v"},
                                                                           {"allgv", "all_gather_v"},
                                                                           {"alltoallv", "all_to_all_v"},
                                                                           {"all_to_allv", "all_to_all_v"}};
  for (const auto& [known, op] : kOps) {
    if (known == name) return op;
  }
  return {};
}

std::optional<NccomCommand> parse_nccom_command(std::string_view line) {
  const std::size_t start = program_in(line);
  if (start == std::string_view::npos) return std::nullopt;
  const char before = start == 0 ? ' ' : line[start - 1];
  line = line.substr(start, kNccomCommandBytes);
  if (before == '"' || before == '\'' || before == '`') line = line.substr(0, line.find(before));
  NccomCommand command;
  bool option = false, hosts = false;
  std::string_view open;  // the option whose value comes next
  for (Word& word : words_of(line, kNccomCommandBytes)) {
    std::string_view text = word.text, value;
    if (text == "|" || text == ";" || text == "&" || text == "&&" ||
        text.find('>') != std::string_view::npos) {
      line = line.substr(0, static_cast<std::size_t>(word.column) - 1);
      break;
    }
    if (text.size() > 1 && text[0] == '-' && (text[1] < '0' || text[1] > '9')) {
      option = true;
      if (const auto equals = text.find('='); text.starts_with("--") && equals != std::string_view::npos) {
        value = text.substr(equals + 1);
        text = text.substr(0, equals);
      } else if (!text.starts_with("--") && text.size() > 2) {
        value = text.substr(2);
        text = text.substr(0, 2);
      }
      hosts |= text == "-s" || text == "--hosts" || text == "-S" || text == "--slurm";
      const bool groups = text == "--custom-replica-groups" || text == "--data-parallel-dimension";
      command.several_groups |= groups;
      if (groups || text == "--custom-src-target-pairs") command.partners = text;
      open = text;
      if (value.empty()) continue;
    } else {
      value = text;
    }
    const std::string_view of = std::exchange(open, {});
    if (of == "-r" || of == "--nworkers" || of == "-N" || of == "--nnodes") {
      auto number = parse_whole(value);
      if (number && (*number < 1 || *number > kRanksMost)) number.reset();
      (of == "-r" || of == "--nworkers" ? command.ranks : command.nodes) = number;
      if (of == "-N" || of == "--nnodes") hosts = true;
    } else if (command.op.empty() && !of.ends_with("-file") && !of.starts_with("--custom")) {
      command.op = canonical_op(value);
    }
  }
  if (!option || command.op.empty()) return std::nullopt;
  if (!hosts) command.nodes = 1;
  command.text = line.substr(0, line.find_last_not_of(" \t") + 1);
  return command;
}

}  // namespace trnplan::logs
