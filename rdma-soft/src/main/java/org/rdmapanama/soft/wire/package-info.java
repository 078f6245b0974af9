/**
 * The packets of RoCEv2: their headers and checksums, capturing them, and injecting faults.
 *
 * <p>The header classes, {@code Opcode}, {@code Psn} and {@code Memory} have static methods only and may be called from any thread. The requesters and
 * responders of the device call them with its lock held; the samples use them to print captured packets.
 */
package org.rdmapanama.soft.wire;
