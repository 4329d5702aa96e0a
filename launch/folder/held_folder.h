// A plan's folder, resolved once. Each file is read once, and every check sees the same bytes.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::launch {

/// The jobs read the files again when they start, from the path that is handed to the scheduler. The folder
/// is not copied: results, caches and values that a person fills in lie in it, and a copy would be another
/// folder. So the checked bytes are kept, and need_unchanged() compares them right before each submission.
/// Links in the path to the folder are followed once. A file in it that is a link is refused, since its
/// target may change later without a trace here. For use by one thread.
class HeldFolder : public Files {
 public:
  /// A missing folder has no files. Throws nothing of the user's.
  explicit HeldFolder(const std::filesystem::path& folder);
  ~HeldFolder() override;
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  /// Absolute path without links; the given one if there is no such folder.
  const std::filesystem::path& path() const { return path_; }
  bool is_folder() const;

  /// True if there is a file, or a link, of that name.
  bool holds(const std::string& name) const;
  /// Names of all entries, in order.
  std::vector<std::string> names() const;
  /// Bytes of a file at its first read. Throws InputError: the file is missing, a link, no regular file,
  /// unreadable or too long.
  const std::string& read(const std::string& name) const;

  /// Throws InputError with everything that has changed since it was read: files, or the folder itself.
  void need_unchanged() const;

  // Uses read() for paths in the folder, and the disk for others.
  bool has(const std::filesystem::path& path) const override;
  std::string text(const std::filesystem::path& path) const override;

 private:
  std::string fresh(const std::string& name) const;
  bool is_same_folder() const;

  std::filesystem::path path_;
  int folder_ = -1;  ///< kept open to notice a folder that replaces this one
  mutable std::map<std::string, std::string> files_;
};

}  // namespace trnplan::launch
