// Small files that are read whole and replaced whole, and where the user's own ones are kept.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace gemwright::files {

/// $XDG_CACHE_HOME/gemwright, else ~/.cache/gemwright with the home of $HOME or of the system's
/// list of users; not made here. A user without a home gets /tmp/gemwright-UID, made private; where
/// that belongs to somebody else it is said, and the path returned is one where nothing can be
/// made.
std::filesystem::path cache_folder();

/// Throws InvalidArgument for the argument named unless the folder that the path is in is there.
void check_folder_of(const char* argument, const std::filesystem::path& path);

/// Contents of a file; nothing when it cannot be read.
std::optional<std::string> read(const std::filesystem::path& path);

/// Replaces a file in one step (temporary file beside it, fsync, rename), making its folder first
/// (mode 0700). Who may read the file the umask says. Readers see the old contents or the new,
/// never a part. Throws Error when the disk refuses; the old file is then untouched.
void write_atomically(const std::filesystem::path& path, std::string_view contents);

}  // namespace gemwright::files
