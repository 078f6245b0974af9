/** Helpers that several packages of this module share. Not exported. */
package org.rdmapanama.internal;
