/** Events of connections for JDK Flight Recorder, one class for each. */
package org.rdmapanama.cm.internal.events;
