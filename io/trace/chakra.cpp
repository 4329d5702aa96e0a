#include "io/trace/chakra.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "io/trace/protobuf.h"

namespace trnplan::io {

namespace {

using Node = models::RankTrace::Node;
using models::CollectiveOp;

constexpr int kVersion = 1;  // GlobalMetadata
constexpr int kId = 1, kNodeName = 2, kNodeType = 3, kOrder = 4, kData = 5, kMicroseconds = 7,
              kAttribute = 10;                                                       // Node
constexpr int kAttributeName = 1, kInt32 = 7, kInt64 = 9, kBool = 27, kString = 29;  // AttributeProto
constexpr std::uint64_t kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7;      // NodeType
constexpr std::int64_t kLeastBytes = 64;

std::uint64_t type_of(Node::Kind kind) {
  switch (kind) {
    case Node::Kind::compute:
      return kCompute;
    case Node::Kind::send:
      return kSend;
    case Node::Kind::receive:
      return kReceive;
    case Node::Kind::collective:
      break;
  }
  return kCollective;
}

/// CollectiveCommType.
std::uint64_t comm_type(CollectiveOp op) {
  switch (op) {
    case CollectiveOp::all_reduce:
      return 0;
    case CollectiveOp::all_gather:
      return 2;
    case CollectiveOp::all_to_all:
      return 6;
    case CollectiveOp::reduce_scatter:
      return 7;
    default:
      throw std::logic_error("a permute is not a collective of Chakra");
  }
}

std::int64_t comm_size(const Node& n) {
  if (n.kind != Node::Kind::collective) return std::max<std::int64_t>(1, std::llround(n.bytes.value));
  const bool shard = n.op == CollectiveOp::all_gather;
  return std::max(std::llround(n.bytes.value / (shard ? n.members : 1)),
                  static_cast<long long>(shard ? kLeastBytes : kLeastBytes * n.members));
}

ProtoMessage attribute(std::string_view name) {
  return ProtoMessage().text(kAttributeName, name);
}

std::vector<std::uint32_t> ids(std::vector<std::uint32_t> indices) {
  for (std::uint32_t& i : indices) ++i;
  return indices;
}

void append(std::string& out, const ProtoMessage& m) {
  add_varint(out, m.bytes().size());
  out += m.bytes();
}

}  // namespace

ChakraWriter::ChakraWriter(std::function<void(std::string_view)> out) : out_(std::move(out)) {
  append(piece_, ProtoMessage().text(kVersion, "0.0.4"));
  out_(piece_);
}

void ChakraWriter::add(const Node& n) {
  ProtoMessage m;
  m.number(kId, ++nodes_).text(kNodeName, n.name).number(kNodeType, type_of(n.kind));
  m.packed(kOrder, ids(n.after)).packed(kData, ids(n.needs));
  if (n.kind == Node::Kind::compute) {
    computed_ += n.length;
    const auto all = static_cast<std::uint64_t>((computed_.ps + 500'000) / 1'000'000);
    if (all > microseconds_) m.number(kMicroseconds, all - microseconds_);
    microseconds_ = all;
  }
  m.message(kAttribute, attribute("is_cpu_op").number(kBool, 0));
  const auto size = [&] {
    m.message(kAttribute, attribute("comm_size").number(kInt64, static_cast<std::uint64_t>(comm_size(n))));
  };
  switch (n.kind) {
    case Node::Kind::compute:
      if (n.flops.value > 0)
        m.message(kAttribute, attribute("num_ops").number(
                                  kInt64, static_cast<std::uint64_t>(std::llround(n.flops.value))));
      break;
    case Node::Kind::collective:
      m.message(kAttribute, attribute("comm_type").number(kInt64, comm_type(n.op)));
      size();
      if (n.group != models::RankTrace::kAllRanks)
        m.message(kAttribute, attribute("pg_name").text(kString, std::to_string(n.group + 1)));
      break;
    case Node::Kind::send:
    case Node::Kind::receive:
      m.message(kAttribute, attribute(n.kind == Node::Kind::send ? "comm_dst" : "comm_src")
                                .number(kInt32, static_cast<std::uint64_t>(n.peer)));
      size();
      m.message(kAttribute, attribute("comm_tag").number(kInt32, static_cast<std::uint64_t>(n.tag)));
  }
  piece_.clear();
  append(piece_, m);
  out_(piece_);
}

std::string chakra_trace(const models::RankTrace& trace) {
  std::string out;
  ChakraWriter writer([&](std::string_view piece) { out += piece; });
  for (const Node& n : trace.nodes) writer.add(n);
  return out;
}

std::string comm_groups_json(const std::vector<std::vector<int>>& groups) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < groups.size(); ++i) j[std::to_string(i + 1)] = groups[i];
  return j.dump() + "\n";
}

}  // namespace trnplan::io
