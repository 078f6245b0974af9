/** The datagrams by which connections are made: their layout. */
package org.rdmapanama.soft.cm;
