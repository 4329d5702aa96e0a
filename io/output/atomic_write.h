// Writes a set of files so that a reader never sees half of one, and a failure leaves nothing behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan::io {

struct OutputFile {
  std::string name;  ///< plain file name: no folder, not "." or ".."
  std::string text;
  bool executable = false;  ///< for scripts
  std::string folder;       ///< below the folder that is written; plain as `name`, empty: that folder itself
  /// Replaces `text` for a file too large for memory: passes it to `write` piece by piece.
  std::function<void(const std::function<void(std::string_view)>& write)> pieces = {};
};

/// Creates `folder` (with its parents and the folders of its files), writes every file under a temporary name
/// in it, flushes it to the disk, and only then renames all of them. If a step fails, the temporaries and the
/// folders made here are removed. The same happens at a signal, which takes effect after that. Other writers
/// of the folder wait: of two calls at once one is first, and the other one's files come after all of its
/// files.
///
/// Throws InputError (nothing written): files exist and `force` is false (one fault counts them), a name is
/// not plain or given twice, `folder` or a parent is no folder, the system refuses (no right, disk full),
/// with the system's reason. Files already renamed when a later rename fails stay, if they replaced older
/// ones.
void write_files(const std::filesystem::path& folder, const std::vector<OutputFile>& files, bool force);

/// Checks that write_files() would start, with files of these names: throws InputError as it does, and writes
/// nothing. For work with a result that would be lost.
void check_files(const std::filesystem::path& folder, const std::vector<std::string>& names, bool force);

/// Throws InputError if the disk of `folder`, which need not exist yet, has less than `bytes` free. A file
/// system that does not report its space counts as large enough.
void check_space(const std::filesystem::path& folder, std::uint64_t bytes);

/// Checks that write_file() would start: throws InputError as it does, and writes nothing.
void check_file(const std::filesystem::path& path, bool force);

/// Writes one file into an existing folder. Messages name `path`, never a temporary name. Throws InputError
/// as write_files() does, and if the folder is missing.
void write_file(const std::filesystem::path& path, const std::string& text, bool force);

/// write_file() with the text that `change` returns. Other writers of the folder wait while `change` reads
/// its files, so that of two changes none is lost. `change` writes nothing into that folder. Throws what
/// `change` throws, too.
void update_file(const std::filesystem::path& path, bool force, const std::function<std::string()>& change);

}  // namespace trnplan::io
