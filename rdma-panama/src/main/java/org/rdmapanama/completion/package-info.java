/** What a completion says: status, opcode and flags, and the fields that can be asked for. */
package org.rdmapanama.completion;
