/** What is said of registered memory: access, advice, flushing, kinds of windows, and why a change failed. */
package org.rdmapanama.memory;
