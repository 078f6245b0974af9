/** What the modules of this project share for calling C functions; exported to them only. */
package org.rdmapanama.ffm.internal;
