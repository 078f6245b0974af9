/**
 * Meters for Micrometer. Each class takes one object and binds what that counts to a registry; all begin with {@code rdma}.
 *
 * <p>A registry reads the counts when it publishes, from any thread and without a lock of the object. It refers to the object
 * weakly, so meters do not keep one from being collected. The meters of a closed object stay until the binder is closed: they
 * keep their last values, and gauges become NaN once the object is collected.
 *
 * <p>A registry has one meter of a name and tags, and ignores the binding of a second object with the same tags. So give objects
 * that exist at the same time different tags, and close the binder of an object before binding another one in its place.
 */
@NullMarked
package org.rdmapanama.micrometer;

import org.jspecify.annotations.NullMarked;
