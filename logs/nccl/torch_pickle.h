// Pickles that torch's C++ writes (torch::jit::pickle), as JSON.
//
// Opcodes: pytorch/pytorch@010276ab:torch/csrc/jit/serialization/pickler.cpp. A pickle is a program, so only what
// builds dicts, lists, tuples, texts, numbers and words is run: of calls, those of torch.jit._pickle that return
// their first argument. Nothing is ever imported.
#pragma once

#include <string>
#include <string_view>

namespace trnplan::logs {

/// True for the first bytes of a pickle of a dict or list by torch's C++.
[[nodiscard]] bool is_torch_pickle(std::string_view head);

/// The value as JSON, without the entries "frames" of dicts (stacks of Python, which repeat). Throws InputError:
/// another opcode or call, a cut pickle, more than 4 million values, more than 128 MiB of JSON, more than 32 levels.
/// Cost: linear in the bytes and the JSON.
[[nodiscard]] std::string json_of_torch_pickle(std::string_view bytes, const std::string& name);

}  // namespace trnplan::logs
