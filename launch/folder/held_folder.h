// A plan's folder, resolved once: what is read of it is read once, and is what every check sees.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "text/diagnostic.h"
#include "text/document.h"

namespace trnplan::launch {

/// The jobs read the files again when they start, from the path that is handed to the scheduler: the folder is
/// not copied, since results, caches and what a person fills in lie in it, and a copy would be another folder. So
/// the bytes that were checked are kept, and need_unchanged() compares them right before each submission. Links on the
/// way to the folder are followed once; a file of it that is a link is refused, since what it leads to may change
/// later without a trace here. Of one thread.
class HeldFolder : public Files {
 public:
  /// A folder that is not there has no files. Throws nothing of the user's.
  explicit HeldFolder(const std::filesystem::path& folder);
  ~HeldFolder() override;
  HeldFolder(const HeldFolder&) = delete;
  HeldFolder& operator=(const HeldFolder&) = delete;

  /// Absolute and without links; as given where there is no such folder.
  const std::filesystem::path& path() const { return path_; }
  bool is_folder() const;

  /// There is a file, or a link, of that name.
  bool holds(const std::string& name) const;
  /// Names of all that lies in it, in order.
  std::vector<std::string> names() const;
  /// The bytes of a file, as they were when they were first asked for. Throws InputError: it is missing, a link, no
  /// regular file, unreadable or too long.
  const std::string& read(const std::string& name) const;

  /// Throws InputError with all that is no longer as it was read: files, or the folder itself.
  void need_unchanged() const;

  // Of paths in the folder read() is asked, of others the disk.
  bool has(const std::filesystem::path& path) const override;
  std::string text(const std::filesystem::path& path) const override;

 private:
  std::string fresh(const std::string& name) const;
  bool is_same_folder() const;

  std::filesystem::path path_;
  int folder_ = -1;  ///< held open, so that a folder which takes the place of this one is noticed
  mutable std::map<std::string, std::string> files_;
};

}  // namespace trnplan::launch
