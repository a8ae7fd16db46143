// units.h: how quantities are written for people. Code holds bytes and counts; GB is 10^9 and GiB 2^30 bytes.
#pragma once

#include <string>

#include "base/int128.h"

namespace archlight::base {

// 688574839360 as "688.57 GB", 1152 as "1,152 B"; decimal prefixes.
std::string human_bytes(double bytes);
// 38654705664 as "36.00 GiB"; binary prefixes.
std::string human_binary_bytes(double bytes);
// 671026419200 as "671.03 B" (billion), 1.2e15 as "1.20 P"; decimal prefixes for counts.
std::string human_count(double count);

}  // namespace archlight::base
