/**
 * Meters for Micrometer. Each class takes one object and binds what that counts to a registry; all begin with {@code rdma}.
 *
 * <p>A registry reads the counts when it publishes, from any thread and without locks. It refers to the object weakly, so meters
 * do not keep one from being collected; those of a closed object keep their last values until the program removes them.
 */
package org.rdmapanama.micrometer;
