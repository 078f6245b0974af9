/** Native memory of the software device: blocks, rings, and access by address. */
package org.rdmapanama.soft.memory;
