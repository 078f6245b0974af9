/** The shuffle manager. */
package org.rdmapanama.spark;
