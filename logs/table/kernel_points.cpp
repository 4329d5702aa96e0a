#include "logs/table/kernel_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

namespace trnplan::logs {

namespace {

/// Larger than any tensor of one core: its 16 GiB of HBM hold fewer elements along one side, or in all.
constexpr double kMostSide = 1e9, kMostInAll = 1e13;
constexpr double kMostSeconds = 86400;  ///< a day, as logs/profile/neuron_profile.cpp
constexpr double kLeastSeconds = 1e-9;  ///< some cycles of a core
constexpr std::size_t kMostText = 400;
constexpr std::string_view kDtype = "dtype", kCausal = "causal", kBatch = "batch";

struct Size {
  std::string_view key;
  double Kernel::*value;
  double most;
};

struct Form {
  std::string_view name;
  std::vector<Size> sizes;
  bool dtype = false, causal = false;
};

/// Forms of kernels in the order of KernelOp.
const std::array<Form, static_cast<std::size_t>(KernelOp::count)>& forms() {
  static const std::vector<Size> kFlash = {{"heads", &Kernel::heads, kMostSide},
                                           {"sequence", &Kernel::sequence, kMostSide},
                                           {"head_dim", &Kernel::head_dim, kMostSide},
                                           {kBatch, &Kernel::batch, kMostSide}};
  static const std::array<Form, static_cast<std::size_t>(KernelOp::count)> kForms = {
      {{"matmul",
        {{"m", &Kernel::m, kMostSide},
         {"k", &Kernel::k, kMostSide},
         {"n", &Kernel::n, kMostSide},
         {kBatch, &Kernel::batch, kMostSide}},
        true},
       {"flash_forward", kFlash, true, true},
       {"flash_backward", kFlash, true, true},
       {"norm", {{"rows", &Kernel::rows, kMostSide}, {"width", &Kernel::width, kMostSide}}},
       {"vector", {{"elements", &Kernel::elements, kMostInAll}, {"passes", &Kernel::passes, kMostSide}}},
       {"stream", {{"bytes", &Kernel::bytes, kMostInAll}}}}};
  return kForms;
}

std::vector<std::string> names_of(const std::array<Form, static_cast<std::size_t>(KernelOp::count)>& all) {
  std::vector<std::string> names;
  for (const Form& form : all) names.emplace_back(form.name);
  return names;
}

std::vector<std::string> keys_of(const Form& form) {
  std::vector<std::string> keys;
  for (const Size& size : form.sizes) keys.emplace_back(size.key);
  if (form.causal) keys.emplace_back(kCausal);
  if (form.dtype) keys.emplace_back(kDtype);
  return keys;
}

std::string list_of(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// One text, with all its faults.
class Parser {
 public:
  KernelText parse(std::string_view text) {
    if (text.size() > kMostText) {
      fault("is too long for a kernel", "write for example matmul,m=4096,k=4096,n=4096,dtype=bf16");
      return std::move(out_);
    }
    const std::string_view name = text.substr(0, text.find(','));
    const auto found =
        std::find_if(forms().begin(), forms().end(), [&](const Form& form) { return form.name == name; });
    if (found == forms().end()) {
      const std::vector<std::string> names = names_of(forms());
      const std::string meant = nearest(name, names);
      fault(in_quotes(name) + " is not an operator",
            meant.empty() ? "the known ones are " + list_of(names) : "did you mean " + meant + "?");
      return std::move(out_);
    }
    form_ = &*found;
    kernel_.op = static_cast<KernelOp>(found - forms().begin());
    if (name.size() < text.size()) entries(text.substr(name.size() + 1));
    for (const std::string& key : keys_of(*form_)) {
      if (!given_.contains(key) && key != kBatch) {
        fault(fmt::format("{} needs {}", form_->name, key), "a measurement without it is useless");
      }
    }
    if (out_.faults.empty()) out_.kernel = kernel_;
    return std::move(out_);
  }

 private:
  void fault(std::string problem, std::string fix) {
    out_.faults.push_back({std::move(problem), std::move(fix)});
  }

  void entries(std::string_view rest) {
    while (true) {
      const std::size_t end = rest.find(',');
      entry(rest.substr(0, end));
      if (end == std::string_view::npos) return;
      rest.remove_prefix(end + 1);
    }
  }

  void entry(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) {
      return fault(in_quotes(text) + " is not a key=value", "write for example m=4096");
    }
    const std::string key(text.substr(0, equals));
    const std::string_view value = text.substr(equals + 1);
    const std::vector<std::string> keys = keys_of(*form_);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      const std::string meant = nearest(key, keys);
      return fault(fmt::format("{} has no {}", form_->name, in_quotes(key)),
                   meant.empty() ? "it has " + list_of(keys) : "did you mean " + meant + "?");
    }
    if (++given_[key] > 1) return fault(key + " is given twice", "leave one of them out");
    if (key == kDtype) return dtype(value);
    if (key == kCausal) return causal(value);
    for (const Size& s : form_->sizes) {
      if (s.key == key) size(s, value);
    }
  }

  void dtype(std::string_view value) {
    if (value != "bf16" && value != "fp16" && value != "fp32") {
      return fault("dtype " + in_quotes(value) + " is not known", "give bf16, fp16 or fp32");
    }
    kernel_.fp32 = value == "fp32";
  }

  void causal(std::string_view value) {
    if (value != "yes" && value != "no") {
      return fault("causal is " + in_quotes(value), "write causal=yes or causal=no");
    }
    kernel_.causal = value == "yes";
  }

  void size(const Size& s, std::string_view value) {
    const auto number = number_of(value);
    if (!number || *number < 1 || *number != std::floor(*number)) {
      return fault(fmt::format("{} is {}", s.key, in_quotes(value)), "give a whole number of at least 1");
    }
    if (*number > s.most) {
      return fault(fmt::format("{} is {}, more than the {:.0e} that any kernel of one core has", s.key,
                               in_quotes(value), s.most),
                   "correct the number");
    }
    kernel_.*s.value = *number;
  }

  const Form* form_ = nullptr;
  Kernel kernel_;
  KernelText out_;
  std::map<std::string, int> given_;
};

/// Reads a row; with `left_out`, the reason why it is not for a fit.
void read_row(CsvReader& csv, KernelTable& table) {
  ++table.rows;
  MeasuredKernel point{
      std::string(csv.text("id")), {}, kernel_seconds(csv, "device_us"), "", csv.at("id"), ""};
  const std::string quality(csv.text("quality"));
  csv.required("source", "say where the number comes from");
  if (quality != "A" && quality != "B" && quality != "C" && quality != "D") {
    csv.fault("quality", in_quotes(quality) + " is not one of A, B, C, D", "see catalog/measured-kernels.md");
    return;
  }
  if (quality > "B") {
    const std::string missing = printable(csv.text("missing"), 200);
    table.left_out.push_back({csv.at("quality"), "kernel",
                              fmt::format("{}: quality {}: {}", printable(point.id, 60), quality,
                                          missing.empty() ? "machine or shapes are missing" : missing),
                              "give a device time with machine, shapes and dtype"});
    return;
  }
  point.instance = csv.required("instance", "quality A and B say where it was measured");
  KernelText text = parse_kernel(csv.text("kernel"));
  for (auto& f : text.faults) csv.fault("kernel", std::move(f.problem), std::move(f.fix));
  if (!text.kernel) return;
  point.kernel = *text.kernel;
  table.points.push_back(std::move(point));
}

}  // namespace

double kernel_seconds(CsvReader& csv, std::string_view column) {
  constexpr double kMicro = 1e-6;
  const auto time = csv.number(column);
  if (!time) {
    csv.required(column, "a measurement needs it");
    return 0;
  }
  if (*time * kMicro < kLeastSeconds || *time * kMicro > kMostSeconds) {
    csv.fault(column, "is not the time of a kernel", "give the microseconds of one call");
  }
  return *time * kMicro;
}

std::string_view to_string(KernelOp op) {
  return op < KernelOp::count ? forms()[static_cast<std::size_t>(op)].name : "?";
}

std::string to_string(const Kernel& kernel) {
  const Form& form = forms()[static_cast<std::size_t>(kernel.op)];
  std::string text(form.name);
  for (const Size& size : form.sizes) {
    if (kernel.op == KernelOp::matmul && size.key == kBatch && kernel.batch == 1) continue;
    text += fmt::format(",{}={:.0f}", size.key, kernel.*size.value);
  }
  if (form.causal) text += kernel.causal ? ",causal=yes" : ",causal=no";
  if (form.dtype) text += kernel.fp32 ? ",dtype=fp32" : ",dtype=bf16";
  return text;
}

KernelText parse_kernel(std::string_view text) {
  return Parser().parse(text);
}

KernelTable parse_measured_kernels(std::string_view text, const std::string& name) {
  CsvReader csv(text, name, {"id", "kernel", "device_us", "instance", "quality", "source"},
                "see catalog/measured-kernels.md for the columns");
  KernelTable table;
  while (csv.next()) {
    csv.distinct("id", csv.required("id", "give the row an id"));
    read_row(csv, table);
  }
  csv.finish();
  return table;
}

std::optional<MeasuredKernel> measured_kernel(const std::vector<DeviceSample>& devices, const Kernel& kernel,
                                              const std::string& file, std::vector<Diagnostic>& faults) {
  const auto fault = [&](const SourcePos& at, std::string problem, std::string fix) {
    faults.push_back({at, "--kernel", std::move(problem), std::move(fix)});
    return std::nullopt;
  };
  if (devices.empty()) {
    return fault({file, 0, 0}, "the file has no device time",
                 "give what neuron-profile view --output-format summary-json, or json, wrote");
  }
  if (devices.size() > 1) {
    return fault(devices[1].at, fmt::format("the file has {} graphs", devices.size()),
                 "give a file with the profile of the kernel alone");
  }
  const DeviceSample& device = devices.front();
  if (device.seconds < kLeastSeconds) {
    return fault(device.at, fmt::format("{:.3g} s is not the time of a kernel", device.seconds),
                 "give the profile as the tool wrote it");
  }
  if (device.collective_seconds.value_or(0) > 0) {
    return fault(device.at, "the graph has collectives, so it is not a kernel of one core",
                 "profile the kernel alone");
  }
  return MeasuredKernel{"", kernel, device.seconds, "", device.at, ""};
}

}  // namespace trnplan::logs
