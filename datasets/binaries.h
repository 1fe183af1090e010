// CIFAR and IDX: datasets of small pictures in a few binary files.
#pragma once

#include <memory>
#include <string>

#include "datasets/source.h"

namespace lathe {

// CIFAR's binary version (https://www.cs.toronto.edu/~kriz/cifar.html) in `directory` or in the folder that
// its archive makes there (cifar-10-batches-bin, cifar-100-binary). CIFAR-10: data_batch_1 … 5.bin,
// test_batch.bin, batches.meta.txt. CIFAR-100: train.bin, test.bin, fine_label_names.txt; the fine labels are
// used. A file may hold any whole number of pictures. Throws Error(data) for a missing file, a file of
// another size or a label out of range.
std::unique_ptr<Source> cifar10_source(const std::string& directory, bool train);
std::unique_ptr<Source> cifar100_source(const std::string& directory, bool train);

// MNIST's format (http://yann.lecun.com/exdb/mnist): train-images-idx3-ubyte, train-labels-idx1-ubyte and the
// same with t10k (or "." before idx), unsigned bytes, gray. The classes are "0" … "9", or more where the
// training labels go further. Throws Error(data) for what is not that.
std::unique_ptr<Source> idx_source(const std::string& directory, bool train);

}  // namespace lathe
