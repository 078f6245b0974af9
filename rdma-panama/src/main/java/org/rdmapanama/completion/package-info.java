/** What a completion says: status, opcode and flags, and the fields that can be asked for. */
@NullMarked
package org.rdmapanama.completion;

import org.jspecify.annotations.NullMarked;
