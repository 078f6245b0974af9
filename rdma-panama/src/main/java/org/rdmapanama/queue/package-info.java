/**
 * What is said of queue pairs, work queues, shared receive queues and XRC domains: types, states, attributes, sizes, flags and
 * opcodes.
 */
@NullMarked
package org.rdmapanama.queue;

import org.jspecify.annotations.NullMarked;
