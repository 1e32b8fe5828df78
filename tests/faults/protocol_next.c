// The protocol as of the next version: what a node's daemons speak after an upgrade.
#include "common/protocol.h"

#undef PROTOCOL_VERSION
#define PROTOCOL_VERSION 2u

#include "common/protocol.c"
