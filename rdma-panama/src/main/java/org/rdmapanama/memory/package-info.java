/**
 * What is said of registered memory: access, advice, flushing, kinds of windows, what a fork does to it, and why a change
 * failed.
 */
@NullMarked
package org.rdmapanama.memory;

import org.jspecify.annotations.NullMarked;
