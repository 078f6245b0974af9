/** Asynchronous events: what a device reports on its own, apart from completions. */
@NullMarked
package org.rdmapanama.event;

import org.jspecify.annotations.NullMarked;
