/** The native implementation of the provider line: libibverbs, called through java.lang.foreign. */
package org.rdmapanama.internal.libibverbs;
