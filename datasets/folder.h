// `folder`: a folder with one sub-folder a class.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "datasets/decode.h"
#include "datasets/source.h"

namespace lathe {

// The classes are the sub-folders of `directory` in byte order, whatever the locale or the file system's own
// order; an empty one is a class with no pictures, with a warning. A class's pictures are the files below its
// folder, at any depth, in byte order of their paths, that end in jpg, jpeg, jpe, jfif, png or bmp in any
// case. Links are followed, loops are not. Hidden names (.*), Thumbs.db, desktop.ini, __MACOSX and the like
// are silently ignored; pictures outside a class folder and files of other kinds are ignored with a warning.
// Throws Error(data) where there is no class or no picture.
std::unique_ptr<Source> folder_source(const std::string& directory, Decoder decoder,
                                      std::vector<std::string>& warnings);

// The first of directory/NAME that is a split: a folder that has class folders. (A class may be called
// "train"; it has pictures in it.)
std::optional<std::string> find_split(const std::string& directory, const std::vector<std::string>& names);

}  // namespace lathe
