/** Helpers for calling C functions, shared by the modules of this project and exported to them only. */
package org.rdmapanama.ffm.internal;
