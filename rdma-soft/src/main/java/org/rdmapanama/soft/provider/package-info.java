/**
 * What the service loader finds: {@code SoftProvider} joins the device of {@code org.rdmapanama.soft} with the connection
 * manager of {@code org.rdmapanama.soft.connect}. No other package of the module uses this one.
 */
package org.rdmapanama.soft.provider;
