package app

// ExamineFiats lets tests give the doctor what the sources said.
var ExamineFiats = examineFiats
