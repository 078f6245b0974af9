/** Events of the software device for JDK Flight Recorder, one class for each. They are recorded where something goes wrong. */
package org.rdmapanama.soft.events;
