/** The attributes, capabilities, kinds and rates that devices and ports report. */
@NullMarked
package org.rdmapanama.device;

import org.jspecify.annotations.NullMarked;
