// Whether a path may be that of a store.
#pragma once

#include <filesystem>

namespace gemwright::store {

/// The file at the path is plainly somebody's own, so that it is neither written nor moved aside.
/// A missing or empty file is not, nor a store, be it of another version or damaged: that is known
/// by what is left in it, by the lock file that this library puts beside its stores, or by its
/// being the default path. Reads the file's head, and SQLite's schema where that does not tell.
bool is_foreign(const std::filesystem::path& path);

/// Throws InvalidArgument for the argument named where the path is_foreign(), or in a folder that
/// is missing and more than its last part would have to be made.
void check_place(const char* argument, const std::filesystem::path& path);

}  // namespace gemwright::store
