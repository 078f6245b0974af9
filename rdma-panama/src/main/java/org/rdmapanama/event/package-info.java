/** Asynchronous events: what a device reports on its own, apart from completions. */
package org.rdmapanama.event;
