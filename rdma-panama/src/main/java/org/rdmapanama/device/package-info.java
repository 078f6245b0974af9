/** The attributes, capabilities, kinds and rates that devices and ports report. */
package org.rdmapanama.device;
