#include "logs/table/kernel_times.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "text/csv.h"

namespace trnplan::logs {

namespace {

constexpr std::string_view kTime = "us", kType = "dtype";

std::set<std::string> columns_of(std::string_view heading) {
  std::set<std::string> names;
  const auto records = split_csv(heading);
  if (records.empty()) return names;
  for (const CsvRecord::Field& field : records.front().fields) names.insert(field.text);
  return names;
}

bool of_products(const std::set<std::string>& columns) {
  return columns.contains("m") && columns.contains("n") && columns.contains("k");
}

bool of_attention(const std::set<std::string>& columns) {
  return columns.contains("heads") && columns.contains("head_dim");
}

void read_size(CsvReader& csv, std::string_view column, double& size) {
  if (csv.text(column).empty()) {
    csv.required(column, "a measurement without it is useless");
    return;
  }
  if (const int value = csv.whole(column, 1); value > 0) {
    size = value;
  } else {
    csv.fault(column, "is 0", "give a whole number of at least 1");
  }
}

void read_dtype(CsvReader& csv, Kernel& kernel) {
  const std::string_view word = csv.text(kType);
  kernel.fp32 = word == "fp32" || word == "float32" || word == "torch.float32";
  const std::string_view narrow[] = {"bf16",    "fp16",           "bfloat16",
                                     "float16", "torch.bfloat16", "torch.float16"};
  if (kernel.fp32 || std::find(std::begin(narrow), std::end(narrow), word) != std::end(narrow)) return;
  csv.fault(kType, "dtype " + in_quotes(word, 40) + " is not known", "give bf16, fp16 or fp32");
}

void read_product(CsvReader& csv, Kernel& kernel) {
  kernel.op = KernelOp::matmul;
  read_size(csv, "m", kernel.m);
  read_size(csv, "k", kernel.k);
  read_size(csv, "n", kernel.n);
  if (!csv.text("b").empty()) read_size(csv, "b", kernel.batch);
}

void read_attention(CsvReader& csv, MeasuredKernel& point) {
  Kernel& kernel = point.kernel;
  read_size(csv, "batch", kernel.batch);
  read_size(csv, "heads", kernel.heads);
  read_size(csv, "seq", kernel.sequence);
  read_size(csv, "head_dim", kernel.head_dim);
  kernel.causal = csv.yes_or_no("causal");
  const std::string_view pass = csv.text("pass");
  if (pass != "forward" && pass != "backward")
    csv.fault("pass", "pass is " + in_quotes(pass, 40), "write forward or backward, each timed alone");
  kernel.op = pass == "backward" ? KernelOp::flash_backward : KernelOp::flash_forward;
  point.library = csv.text("library");
}

}  // namespace

bool is_kernel_times(std::string_view heading) {
  const std::set<std::string> columns = columns_of(heading);
  return of_products(columns) || of_attention(columns);
}

std::vector<MeasuredKernel> parse_kernel_times(std::string_view text, const std::string& name) {
  std::string_view heading = text.substr(0, text.find_first_of("\r\n"));
  if (heading.starts_with("\xEF\xBB\xBF")) heading.remove_prefix(3);
  const bool products = of_products(columns_of(heading));
  const std::string help =
      fmt::format("write the heading {}", products ? kProductColumns : kAttentionColumns);
  CsvReader csv(text, name, {"dtype", "us"}, help);
  if (!products) {
    for (const char* column : {"batch", "heads", "seq", "head_dim", "causal", "pass"}) csv.need(column, help);
  }
  std::vector<MeasuredKernel> points;
  while (csv.next()) {
    MeasuredKernel point;
    point.at = csv.at(kTime);
    if (products) {
      read_product(csv, point.kernel);
    } else {
      read_attention(csv, point);
    }
    read_dtype(csv, point.kernel);
    point.seconds = kernel_seconds(csv, kTime);
    point.id = fmt::format("{}:{}", name.substr(name.rfind('/') + 1), point.at.line);
    points.push_back(std::move(point));
  }
  csv.finish();
  if (points.empty()) throw InputError({{name, 1, 1}, "", "the table has no row", "give the measured rows"});
  return points;
}

}  // namespace trnplan::logs
