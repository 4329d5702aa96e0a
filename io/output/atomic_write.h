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
  std::string folder;       ///< below the folder that is written; plain as `name`, empty: that itself
  /// Of a file too large for memory, in place of `text`: hands it on piece by piece.
  std::function<void(const std::function<void(std::string_view)>& write)> pieces = {};
};

/// Creates `folder` (with its parents and what its files name), writes every file under a temporary name in
/// it, flushes it to the disk, and only then renames all of them. When a step fails, the temporaries and the
/// folders made here are removed. So it is when a signal ends us: it is obeyed once that is done. Others that
/// write into the folder wait: of two calls at once one is first, and the other one's files come after all of
/// its.
///
/// Throws InputError (nothing written): files exist and `force` is false (one fault counts them), a name is
/// not plain or given twice, `folder` or a parent is no folder, the system refuses (no right, disk full),
/// with the system's reason. Files already renamed when a later rename fails stay, if they replaced older
/// ones.
void write_files(const std::filesystem::path& folder, const std::vector<OutputFile>& files, bool force);

/// Whether write_files() would start, with files of these names: throws InputError as it does, and writes
/// nothing. For work whose result would be lost.
void check_files(const std::filesystem::path& folder, const std::vector<std::string>& names, bool force);

/// Throws InputError when the disk of `folder`, which need not exist yet, has less than `bytes` free. A file
/// system that does not say is taken to have room.
void check_space(const std::filesystem::path& folder, std::uint64_t bytes);

/// Whether write_file() would start: throws InputError as it does, and writes nothing.
void check_file(const std::filesystem::path& path, bool force);

/// One file in a folder that exists. Messages name `path`, never a temporary name. Throws InputError as
/// write_files() does, and when the folder is missing.
void write_file(const std::filesystem::path& path, const std::string& text, bool force);

/// write_file() with the text that `change` returns. Whoever else writes in the folder waits while `change`
/// reads what is there, so that of two changes none is lost. `change` writes nothing into that folder. Throws
/// what `change` throws, too.
void update_file(const std::filesystem::path& path, bool force, const std::function<std::string()>& change);

}  // namespace trnplan::io
