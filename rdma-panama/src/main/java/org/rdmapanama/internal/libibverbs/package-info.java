/**
 * The implementation of the provider line for libibverbs, called through java.lang.foreign, with the workarounds for faults
 * of drivers.
 */
package org.rdmapanama.internal.libibverbs;
