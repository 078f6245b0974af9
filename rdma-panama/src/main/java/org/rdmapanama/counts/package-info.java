/** What queue pairs, pools and open devices have counted, as records that any thread can read at any time. */
package org.rdmapanama.counts;
