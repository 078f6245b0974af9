/** The shuffle manager. */
@NullMarked
package org.rdmapanama.spark;

import org.jspecify.annotations.NullMarked;
