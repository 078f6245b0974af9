/**
 * Stand-ins for devices, on the provider line: they record, refuse or pretend what tests of the object model ask for.
 */
package org.rdmapanama.standin;
