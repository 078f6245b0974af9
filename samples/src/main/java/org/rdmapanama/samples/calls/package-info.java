/** Requests and answers by SEND between a server and its clients, for the samples whose clients also read by themselves. */
package org.rdmapanama.samples.calls;
