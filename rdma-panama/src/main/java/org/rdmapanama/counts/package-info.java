/** What queue pairs, pools and open devices have counted, as records that any thread can read at any time. */
@NullMarked
package org.rdmapanama.counts;

import org.jspecify.annotations.NullMarked;
